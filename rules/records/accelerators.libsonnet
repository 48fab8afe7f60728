// Accelerators of every vendor under one name and unit. Where Triton and DCGM both report a card, DCGM's row takes
// precedence.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local fit = import '../lib/fit.libsonnet';
  // Sources: the expression, the vendor, and the label that identifies a card.
  local nvidia(expr) = { vendor: 'nvidia', id: 'UUID', expr: expr };
  // DCGM exports a value that it cannot read as a number near 2^63.
  local dcgm(expr) = nvidia('(' + expr + ' < 1e18)');
  local triton(expr) = { vendor: 'nvidia', id: 'gpu_uuid', expr: expr };
  // Older exporters number the chips of each node from 0, so `device` is the instance and the id.
  local ascend(expr) = { vendor: 'ascend', id: 'vdie_id', expr: 'label_join(' + expr + ', "device", "/", "instance", "id")' };
  local cambricon(expr) = { vendor: 'cambricon', id: 'uuid', expr: expr };
  // One row for each card under the labels that all vendors share; `unit` converts the value.
  local device(source) = fit(|||
    max by (%(device)s, vendor) (
      label_replace(
        label_replace(%(expr)s, "device", "$1", "%(id)s", "(.+)"),
        "vendor", "%(vendor)s", "", ""
      )
    )%(unit)s
  |||, { unit: '' } + source);
  // A row with the labels that people know a card by: `card` is its number on the host, or the end of its id where the
  // exporter has no number.
  local called(source, number, host) = fit(|||
    group by (%(device)s, vendor, card, host) (
      label_replace(
        label_replace(
          label_replace(
            label_replace(
              label_replace(
                label_replace(%(expr)s, "device", "$1", "%(id)s", "(.+)"),
                "card", "$1", "device", ".*?([^-]{1,6})"
              ),
              "card", "$1", "%(number)s", "(.+)"
            ),
            "host", "$1", "instance", "(.+?)(:[0-9]+)?"
          ),
          "host", "$1", "%(host)s", "(.+)"
        ),
        "vendor", "%(vendor)s", "", ""
      )
    )
  |||, source { number: number, host: host });
  // One bit of a mask: PromQL has no bitwise operators.
  local bit(series, value) = 'floor(' + series + ' / ' + value + ') %% 2';
  local slowed(series) =
    // Throttled by hardware, by software because of heat, by hardware because of heat, or by the power supply. The other
    // bits are idle clocks, settings and the configured power limit. Numbers near 2^63 have none of these bits.
    'clamp_max(' + std.join(' + ', [bit(series, value) for value in ['8', '32', '64', '128']]) + ', 1)';
  local divided(source, by) = source { unit: ' / ' + by };
  local times(source, by) = source { unit: ' * ' + by };
  // DCGM and the Ascend driver report MiB.
  local mebi = '1048576';
  local measure(name, sources) =
    text.record(
      'device:accelerator_' + name,
      std.join('\nor on (%(card)s)\n', [text.trimmed(device(source)) for source in sources])
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
    text.record('device:accelerator_name:info', std.join('\nor on (%(card)s)\n', [text.trimmed(one) for one in [
      called(dcgm('label_replace(DCGM_FI_DEV_GPU_TEMP, "Hostname", "$1", "hostname", "(.+)")'), 'gpu', 'Hostname'),
      called(triton('nv_gpu_utilization'), 'gpu', 'node'),
      called(ascend('npu_chip_info_temperature'), 'id', 'node'),
      called(cambricon('mlu_temperature'), 'mlu', 'node'),
    ]])),
    // The vendor's code of the last error: an XID, or Ascend's error code.
    measure('fault:code', [
      dcgm('DCGM_FI_DEV_XID_ERRORS'),
      ascend('npu_chip_info_error_code'),
      cambricon('mlu_last_xid_error'),
    ]),
    // 1 is healthy, 0 is not. There is no row where the vendor does not export it or cannot tell (-1).
    measure('healthy:bool', [ascend('(npu_chip_info_health_status >= 0)'), cambricon('mlu_health')]),
    measure('throttled:bool', [
      nvidia(slowed('DCGM_FI_DEV_CLOCKS_EVENT_REASONS')),
      nvidia(slowed('DCGM_FI_DEV_CLOCK_THROTTLE_REASONS')),
      cambricon('mlu_thermal_slow_down'),
    ]),
    measure('clock:hertz', [
      times(dcgm('DCGM_FI_DEV_SM_CLOCK'), '1e6'),
      times(ascend('npu_chip_info_aicore_current_freq'), '1e6'),
      times(cambricon('mlu_frequency'), '1e6'),
    ]),
    measure('ecc_uncorrected:increase1h', [
      dcgm('increase(DCGM_FI_DEV_ECC_DBE_VOL_TOTAL[%(span1h)s])'),
      cambricon('increase(mlu_ecc_uncorrected_error_total[%(span1h)s])'),
    ]),
    measure('pcie:bytes_per_second', [
      dcgm('(DCGM_FI_PROF_PCIE_TX_BYTES + DCGM_FI_PROF_PCIE_RX_BYTES)'),
      // Cambricon reports bytes in 20 ms.
      times(cambricon('(mlu_pcie_read_throughput + mlu_pcie_write_throughput)'), '50'),
    ]),
    measure('nvlink:bytes_per_second', [dcgm('(DCGM_FI_PROF_NVLINK_TX_BYTES + DCGM_FI_PROF_NVLINK_RX_BYTES)')]),
    measure('temperature:celsius', [
      dcgm('DCGM_FI_DEV_GPU_TEMP'),
      ascend('npu_chip_info_temperature'),
      cambricon('mlu_temperature'),
    ]),
  ]
