from small_tables import data_root, make_line, small

__all__ = ["data_root", "make_line", "small"]
