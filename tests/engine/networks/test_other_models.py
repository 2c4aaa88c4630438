"""ResNet-50, MobileNetV2, RNNoise and DLRM: exact counts, and what bounds them."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.core.errors import EngineError
from ironlaw.hardware.accelerators import accelerator
from ironlaw.networks.convnets import Convolution, mobilenet_v2, resnet50
from ironlaw.networks.recommenders import DLRM
from ironlaw.networks.recurrent import GATES, Layer, rnnoise


def test_resnet50_has_25_557_032_parameters() -> None:
    assert resnet50().parameters == 25_557_032


def test_resnet50_does_4_09_billion_multiply_adds_an_image() -> None:
    assert resnet50().forward_flops == 2 * 4_089_184_256


def test_resnet50_convolutions_write_11_million_elements_an_image() -> None:
    assert resnet50().convolution_outputs == pytest.approx(11.1e6, rel=0.005)


def test_mobilenet_v2_has_3_504_872_parameters_and_300_million_multiply_adds_an_image() -> None:
    assert mobilenet_v2().parameters == 3_504_872
    assert mobilenet_v2().forward_flops / 2 == pytest.approx(300e6, rel=0.005)


def test_rnnoise_has_the_87_503_weights_and_the_17_5_million_operations_a_second_of_its_paper() -> None:
    assert rnnoise().parameters == 87_503
    assert 100 * rnnoise().forward_flops == pytest.approx(17.5e6, rel=0.01)
    assert rnnoise().state_bytes == 4 * (24 + 48 + 96)


@given(inputs=st.integers(1, 40), units=st.integers(1, 40))
def test_recurrent_layers_have_torchs_weights_with_one_of_its_two_biases(inputs: int, units: int) -> None:
    torchs = sum(p.numel() for p in torch.nn.GRU(inputs, units, device="meta").parameters())
    assert Layer("gru", inputs, units, recurrent=True).parameters == torchs - GATES * units


def test_activations_double_with_the_batch_and_parameters_do_not() -> None:
    network = resnet50()
    assert network.activation_bytes(64) == 2 * network.activation_bytes(32)
    assert resnet50(image=448).parameters == network.parameters
    assert resnet50(image=448).forward_flops == pytest.approx(4 * network.forward_flops, rel=0.001)


@given(
    inputs=st.integers(1, 4),
    outputs=st.integers(1, 4),
    kernel=st.sampled_from([1, 3, 5, 7]),
    stride=st.integers(1, 3),
    image=st.integers(1, 20),
    depthwise=st.booleans(),
)
def test_convolutions_have_torchs_shape_and_parameters(
    inputs: int, outputs: int, kernel: int, stride: int, image: int, depthwise: bool
) -> None:
    groups = inputs if depthwise else 1
    outputs = outputs * groups
    layer = torch.nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False, device="meta")
    ours = Convolution("c", inputs, outputs, kernel, stride, image, groups)
    result = layer(torch.empty(1, inputs, image, image, device="meta"))
    assert ours.output_elements == result.numel()
    assert ours.parameters == sum(p.numel() for p in layer.parameters()) + 2 * outputs
    assert ours.flops == 2 * result.numel() * kernel**2 * inputs // groups


def test_dlrm_has_24_billion_parameters_nearly_all_in_tables() -> None:
    assert DLRM.parameters == pytest.approx(24.0e9, rel=0.005)
    assert DLRM.network_parameters / DLRM.parameters < 2e-4
    assert DLRM.top_inputs == 479


def test_dlrms_tables_in_fp32_are_larger_than_a_device() -> None:
    assert 4 * DLRM.table_parameters > accelerator("a100-80").memory_bytes


def test_bad_shapes_are_refused() -> None:
    with pytest.raises(EngineError, match="groups 3 is not allowed; it must be a divisor of 4 and 4"):
        Convolution("c", 4, 4, 3, 1, 8, groups=3)
    with pytest.raises(EngineError, match="image 16 is not allowed"):
        resnet50(image=16)
