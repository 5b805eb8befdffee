"""``python -m entnet.cli``"""

from entnet.cli import main

main()
