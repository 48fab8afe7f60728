"""Cards of every vendor under one name and unit."""

from support.case import Case, reads
from support.simulate import World

USE, USED, TOTAL = (
    "device:accelerator_utilization:ratio",
    "device:accelerator_memory_used:bytes",
    "device:accelerator_memory_total:bytes",
)
POWER, HEAT = "device:accelerator_power:watts", "device:accelerator_temperature:celsius"
ALL = (USE, USED, TOTAL, POWER, HEAT)
MIB = 1048576


def world(**series):
    """Gauges by name, on one host."""
    sim = World(minutes=10)
    for name, rows in series.items():
        for value, labels in rows:
            sim.gauge(name, value, **labels)
    return sim


def told(device, vendor, instance, *values):
    """All five measures of one device."""
    labels = {"device": device, "vendor": vendor, "instance": instance}
    return tuple(
        reads(name, 5, (labels, value)) for name, value in zip(ALL, values, strict=True) if value is not None
    )


DCGM = {"instance": "node:9400", "UUID": "GPU-1", "gpu": "0", "Hostname": "node"}
TRITON = {"instance": "node:8002", "gpu_uuid": "GPU-1", "job": "triton"}
ASCEND = {"instance": "npu:8082", "id": "3", "model_name": "910B"}
MLU = {"instance": "mlu:30108", "uuid": "MLU-7", "mlu": "0"}

CASES = (
    Case(
        says="Triton's own numbers serve where nothing better is",
        world=world(
            nv_gpu_utilization=[(0.4, TRITON)],
            nv_gpu_memory_used_bytes=[(10 * MIB, TRITON)],
            nv_gpu_memory_total_bytes=[(40 * MIB, TRITON)],
            nv_gpu_power_usage=[(120, TRITON)],
        ),
        rules=ALL,
        checks=told("GPU-1", "nvidia", "node:8002", 0.4, 10 * MIB, 40 * MIB, 120, None),
    ),
    Case(
        says="a card that DCGM reports too counts once, and what DCGM could not read is left out",
        world=world(
            nv_gpu_utilization=[(0.4, TRITON)],
            nv_gpu_memory_used_bytes=[(10 * MIB, TRITON)],
            nv_gpu_memory_total_bytes=[(40 * MIB, TRITON)],
            nv_gpu_power_usage=[(120, TRITON)],
            DCGM_FI_DEV_GPU_UTIL=[(50, DCGM)],
            DCGM_FI_DEV_FB_USED=[(11, DCGM)],
            DCGM_FI_DEV_FB_FREE=[(29, DCGM)],
            DCGM_FI_DEV_FB_RESERVED=[(1, DCGM)],
            DCGM_FI_DEV_POWER_USAGE=[(9.3e18, DCGM)],
            DCGM_FI_DEV_GPU_TEMP=[(61, DCGM)],
        ),
        rules=ALL,
        checks=(
            *told("GPU-1", "nvidia", "node:9400", 0.5, 11 * MIB, 41 * MIB, None, 61),
            reads(POWER, 5, ({"device": "GPU-1", "vendor": "nvidia", "instance": "node:8002"}, 120)),
        ),
    ),
    Case(
        says="DCGM without reserved memory, and under MIG",
        world=world(
            DCGM_FI_PROF_GR_ENGINE_ACTIVE=[
                (0.3, {**DCGM, "GPU_I_ID": "1"}),
                (0.7, {**DCGM, "GPU_I_ID": "2"}),
            ],
            DCGM_FI_DEV_FB_USED=[(11, DCGM)],
            DCGM_FI_DEV_FB_FREE=[(29, DCGM)],
        ),
        rules=ALL,
        checks=told("GPU-1", "nvidia", "node:9400", 0.7, 11 * MIB, 40 * MIB, None, None),
    ),
    Case(
        says="Ascend, with high bandwidth memory and with chips numbered on each node",
        world=world(
            npu_chip_info_utilization=[(80, ASCEND)],
            npu_chip_info_hbm_used_memory=[(30, ASCEND)],
            npu_chip_info_hbm_total_memory=[(64, ASCEND)],
            npu_chip_info_used_memory=[(1, ASCEND)],
            npu_chip_info_total_memory=[(2, ASCEND)],
            npu_chip_info_power=[(250, ASCEND)],
            npu_chip_info_temperature=[(55, ASCEND)],
        ),
        rules=ALL,
        checks=told("npu:8082/3", "ascend", "npu:8082", 0.8, 30 * MIB, 64 * MIB, 250, 55),
    ),
    Case(
        says="Ascend, with ordinary memory and chips that have an identity",
        world=world(
            npu_chip_info_utilization=[(80, {**ASCEND, "vdie_id": "AB-1"})],
            npu_chip_info_used_memory=[(1, {**ASCEND, "vdie_id": "AB-1"})],
            npu_chip_info_total_memory=[(2, {**ASCEND, "vdie_id": "AB-1"})],
        ),
        rules=ALL,
        checks=told("AB-1", "ascend", "npu:8082", 0.8, 1 * MIB, 2 * MIB, None, None),
    ),
    Case(
        says="Cambricon",
        world=world(
            mlu_utilization=[(25, MLU)],
            mlu_memory_used=[(5, MLU)],
            mlu_memory_total=[(20, MLU)],
            mlu_power_usage=[(70, MLU)],
            mlu_temperature=[(44, MLU)],
        ),
        rules=ALL,
        checks=told("MLU-7", "cambricon", "mlu:30108", 0.25, 5, 20, 70, 44),
    ),
    Case(
        says="cards of two vendors, two of one",
        world=world(
            mlu_utilization=[(25, MLU)],
            nv_gpu_utilization=[(0.4, TRITON), (0.6, {**TRITON, "gpu_uuid": "GPU-2"})],
        ),
        rules=(USE,),
        checks=(
            reads(
                USE,
                5,
                ({"device": "MLU-7", "vendor": "cambricon", "instance": "mlu:30108"}, 0.25),
                ({"device": "GPU-1", "vendor": "nvidia", "instance": "node:8002"}, 0.4),
                ({"device": "GPU-2", "vendor": "nvidia", "instance": "node:8002"}, 0.6),
            ),
        ),
    ),
)
