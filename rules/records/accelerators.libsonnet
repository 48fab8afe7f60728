// Accelerators of every vendor under one name and unit. A card that Triton and DCGM both report counts once, DCGM's.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local put = import '../lib/put.libsonnet';
  // DCGM writes values it cannot read as numbers near 2^63.
  local dcgm(expr) = { vendor: 'nvidia', id: 'UUID', expr: '(' + expr + ' < 1e18)' };
  local triton(expr) = { vendor: 'nvidia', id: 'gpu_uuid', expr: expr };
  // Older exporters number their chips from 0 on every node.
  local ascend(expr) = { vendor: 'ascend', id: 'vdie_id', expr: 'label_join(' + expr + ', "device", "/", "instance", "id")' };
  local cambricon(expr) = { vendor: 'cambricon', id: 'uuid', expr: expr };
  local device(source) = put(|||
    max by (%(device)s, vendor) (
      label_replace(
        label_replace(<expr>, "device", "$1", "<id>", "(.+)"),
        "vendor", "<vendor>", "", ""
      )
    )<unit>
  |||, { unit: '' } + source);
  local divided(source, by) = source { unit: ' / ' + by };
  local times(source, by) = source { unit: ' * ' + by };
  // MiB, as DCGM and the Ascend driver count.
  local mebi = '1048576';
  local measure(name, sources) =
    text.record(
      'device:accelerator_' + name,
      std.join('\nor on (device)\n', [text.trimmed(device(source)) for source in sources])
    );
  [
    measure('utilization:ratio', [
      dcgm('DCGM_FI_PROF_GR_ENGINE_ACTIVE'),
      divided(dcgm('DCGM_FI_DEV_GPU_UTIL'), '100'),
      triton('nv_gpu_utilization'),
      divided(ascend('npu_chip_info_utilization'), '100'),
      divided(cambricon('mlu_utilization'), '100'),
    ]),
    measure('memory_used:bytes', [
      times(dcgm('DCGM_FI_DEV_FB_USED'), mebi),
      triton('nv_gpu_memory_used_bytes'),
      times(ascend('npu_chip_info_hbm_used_memory'), mebi),
      times(ascend('npu_chip_info_used_memory'), mebi),
      cambricon('mlu_memory_used'),
    ]),
    measure('memory_total:bytes', [
      times(dcgm('(DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE + DCGM_FI_DEV_FB_RESERVED)'), mebi),
      times(dcgm('(DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE)'), mebi),
      triton('nv_gpu_memory_total_bytes'),
      times(ascend('npu_chip_info_hbm_total_memory'), mebi),
      times(ascend('npu_chip_info_total_memory'), mebi),
      cambricon('mlu_memory_total'),
    ]),
    measure('power:watts', [
      dcgm('DCGM_FI_DEV_POWER_USAGE'),
      triton('nv_gpu_power_usage'),
      ascend('npu_chip_info_power'),
      cambricon('mlu_power_usage'),
    ]),
    measure('temperature:celsius', [
      dcgm('DCGM_FI_DEV_GPU_TEMP'),
      ascend('npu_chip_info_temperature'),
      cambricon('mlu_temperature'),
    ]),
  ]
