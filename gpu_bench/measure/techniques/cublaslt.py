"""Products of NVIDIA's cuBLASLt that do more than multiply, called through its C interface. Nothing is built for it.

PyTorch gives access to one such epilogue, the bias with GELU of a forward pass. A backward pass needs two more, and the
forward one must also keep what goes into GELU. The library that PyTorch itself has loaded has them all.

cuBLASLt stores matrices by columns: a tensor (M, N) of PyTorch is its matrix N x M, so every product here is the
transposed one of what its caller means.
"""

from __future__ import annotations

import ctypes
from ctypes import byref, c_float, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from gpu_bench.measure.unsupported import UnsupportedError

# cublasLt.h of CUDA 13.0: names as there, without CUBLASLT_. They are the same in CUDA 12.
MATMUL_DESC_TRANSA, MATMUL_DESC_TRANSB, MATMUL_DESC_EPILOGUE, MATMUL_DESC_BIAS_POINTER = 3, 4, 7, 8
MATMUL_DESC_EPILOGUE_AUX_POINTER, MATMUL_DESC_EPILOGUE_AUX_LD = 11, 12
MATMUL_PREF_MAX_WORKSPACE_BYTES = 1
GELU_AUX_BIAS = 32 | 128 | 4
"""Adds a bias to each column, writes the sum to `aux`, and its GELU (by tanh) to D."""
DGELU_BGRAD = 64 | 128 | 16
"""Multiplies by the derivative of GELU at `aux`; sums each row of D into `bias`."""
BGRADB = 512
"""Sums op(B) over the summed dimension into `bias`, one number for each column of D."""
_COMPUTE_32F, _CUDA_R_32F, _CUDA_R_16BF = 68, 0, 14
WORKSPACE = 32 * 2**20
"""Bytes that a product may use besides; what NVIDIA recommends for Hopper."""
_CANDIDATES = 8
"""Kernels that the library is asked to name for a product, the one that it believes fastest first."""


@dataclass(frozen=True)
class Product:
    """D (m, n) = op(A) (m, k) op(B) (k, n) in BF16, stored by columns without gaps, and its epilogue."""

    m: int  # Rows of D
    n: int  # Columns of D
    k: int  # The summed dimension
    transpose_a: bool  # Whether A is stored as (k, m)
    transpose_b: bool  # Whether B is stored as (n, k)
    epilogue: int  # `GELU_AUX_BIAS`, `DGELU_BGRAD` or `BGRADB`

    @property
    def a(self) -> tuple[int, int]:
        """Rows and columns of A as it is stored."""
        return (self.k, self.m) if self.transpose_a else (self.m, self.k)

    @property
    def b(self) -> tuple[int, int]:
        """Rows and columns of B as it is stored."""
        return (self.n, self.k) if self.transpose_b else (self.k, self.n)


class Heuristic(ctypes.Structure):
    """`cublasLtMatmulHeuristicResult_t`: a kernel and what it needs."""

    _fields_ = (
        ("algorithm", c_uint64 * 8),
        ("workspace", c_size_t),
        ("state", c_int),
        ("waves", c_float),
        ("reserved", c_int * 4),
    )


@cache
def _library() -> ctypes.CDLL:
    version = (torch.version.cuda or "").partition(".")[0]
    try:
        # By the name under which PyTorch has loaded it, so that it is found again and not searched for.
        return ctypes.CDLL(f"libcublasLt.so.{version}")
    except OSError as error:
        raise UnsupportedError(f"cuBLASLt of CUDA {version} does not load: {error}") from None


def _call(name: str, *arguments: Any) -> None:
    status = getattr(_library(), name)(*arguments)
    if status:
        raise UnsupportedError(f"cuBLASLt: {name} returned status {status}")


def _made(name: str, *arguments: Any) -> c_void_p:
    found = c_void_p()
    _call(name, byref(found), *arguments)
    return found


@cache
def _handle(device: int) -> c_void_p:
    """The library's handle for a GPU, which must be the current one."""
    return _made("cublasLtCreate")


class Plan:
    """A product as the library takes it, and the kernels that it names for it.

    Args:
        product: What is computed.
        device: Number of the GPU, which must be the current one.

    Attributes:
        kernels: Kernels that can run it; `chosen` is the index of the one that does.

    Raises:
        UnsupportedError: When the library has no kernel for it.
    """

    def __init__(self, product: Product, device: int) -> None:
        self.chosen = 0
        self._handle = _handle(device)
        self._operation = _made("cublasLtMatmulDescCreate", c_int(_COMPUTE_32F), c_int(_CUDA_R_32F))
        self._set(MATMUL_DESC_TRANSA, c_int32(product.transpose_a))
        self._set(MATMUL_DESC_TRANSB, c_int32(product.transpose_b))
        self._set(MATMUL_DESC_EPILOGUE, c_uint32(product.epilogue))
        self._aux = product.epilogue != BGRADB
        if self._aux:
            self._set(MATMUL_DESC_EPILOGUE_AUX_LD, c_int64(product.m))
        # Addresses say how tensors are aligned; PyTorch's are multiples of 16 bytes or more.
        self._point(256, 256)
        self._layouts = [_layout(*shape) for shape in (product.a, product.b, (product.m, product.n))]
        self.kernels = self._named()

    def _set(self, attribute: int, value: Any) -> None:
        size = c_size_t(ctypes.sizeof(value))
        _call("cublasLtMatmulDescSetAttribute", self._operation, c_int(attribute), byref(value), size)

    def _point(self, bias: int, aux: int) -> None:
        self._set(MATMUL_DESC_BIAS_POINTER, c_void_p(bias))
        if self._aux:
            self._set(MATMUL_DESC_EPILOGUE_AUX_POINTER, c_void_p(aux))

    def _named(self) -> list[Heuristic]:
        wanted = _made("cublasLtMatmulPreferenceCreate")
        most = c_uint64(WORKSPACE)
        _call(
            "cublasLtMatmulPreferenceSetAttribute",
            wanted, c_int(MATMUL_PREF_MAX_WORKSPACE_BYTES), byref(most), c_size_t(8),
        )  # fmt: skip
        found, count = (Heuristic * _CANDIDATES)(), c_int()
        a, b, d = self._layouts
        _call(
            "cublasLtMatmulAlgoGetHeuristic",
            self._handle, self._operation, a, b, d, d, wanted, c_int(_CANDIDATES), found, byref(count),
        )  # fmt: skip
        _call("cublasLtMatmulPreferenceDestroy", wanted)
        kernels = [one for one in found[: count.value] if one.state == 0]
        if not kernels:
            raise UnsupportedError("cuBLASLt has no kernel for the product")
        return kernels

    def run(self, a: Tensor, b: Tensor, d: Tensor, bias: Tensor, aux: Tensor | None) -> None:
        """Multiply on PyTorch's current stream."""
        kernel = self.kernels[self.chosen]
        self._point(bias.data_ptr(), 0 if aux is None else aux.data_ptr())
        workspace = torch.empty(WORKSPACE, dtype=torch.uint8, device=d.device)
        one, zero = c_float(1.0), c_float(0.0)
        where, (form_a, form_b, form_d) = c_void_p(d.data_ptr()), self._layouts
        _call(
            "cublasLtMatmul",
            self._handle, self._operation,
            byref(one), c_void_p(a.data_ptr()), form_a, c_void_p(b.data_ptr()), form_b,
            byref(zero), where, form_d, where, form_d,
            byref(kernel, Heuristic.algorithm.offset), c_void_p(workspace.data_ptr()), c_size_t(WORKSPACE),
            c_void_p(torch.cuda.current_stream(d.device).cuda_stream),
        )  # fmt: skip


def _layout(rows: int, columns: int) -> c_void_p:
    return _made("cublasLtMatrixLayoutCreate", c_int(_CUDA_R_16BF), c_uint64(rows), c_uint64(columns), c_int64(rows))


@cache
def plan(product: Product, device: int) -> Plan:
    """The plan of a product on a GPU, made once."""
    return Plan(product, device)


def multiply(product: Product, a: Tensor, b: Tensor, d: Tensor, bias: Tensor, aux: Tensor | None = None) -> None:
    """Run a product over contiguous BF16 tensors on a GPU; their shapes are those of the product, transposed.

    Args:
        product: What is computed.
        a: A, as (columns, rows) of how it is stored.
        b: B, likewise.
        d: Filled with D, as (n, m).
        bias: The bias that is added, or filled with the gradient of one.
        aux: What goes into GELU, as (n, m): filled by `GELU_AUX_BIAS`, read by `DGELU_BGRAD`.

    Raises:
        UnsupportedError: When the library refuses it.
    """
    with torch.cuda.device(d.device):
        plan(product, torch.cuda.current_device()).run(a, b, d, bias, aux)
