"""Networks in other forms: a page that runs in any browser, and graphs for ONNX Runtime."""

from entnet.export.onnx import onnx_graphs, save_onnx
from entnet.export.page import page_html, save_page

__all__ = ["onnx_graphs", "page_html", "save_onnx", "save_page"]
