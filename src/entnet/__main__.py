"""``python -m entnet``"""

from entnet.cli import main

main()
