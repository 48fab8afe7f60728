// Accelerators of every vendor under one name and unit. Where Triton and DCGM both report a card, DCGM's row takes
// precedence.
function(config)
  local text = (import '../lib/text.libsonnet')(config);
  local fit = import '../lib/fit.libsonnet';
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
  local called(source) = fit(|||
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
  |||, source);
  // One bit of a mask: PromQL has no bitwise operators.
  local bit(series, value) = 'floor(' + series + ' / ' + value + ') %% 2';
  local slowed(series) =
    // Throttled by hardware, by software because of heat, by hardware because of heat, or by the power supply. The other
    // bits are idle clocks, settings and the configured power limit. Numbers near 2^63 have none of these bits.
    'clamp_max(' + std.join(' + ', [bit(series, value) for value in ['8', '32', '64', '128']]) + ', 1)';
  // A value, and what makes it ours: `unit` converts it.
  local raw(expr) = { expr: expr };
  local percent(expr) = { expr: expr, unit: ' / 100' };
  local times(expr, by) = { expr: expr, unit: ' * ' + by };
  local mebi(expr) = times(expr, '1048576');
  // DCGM exports a value that it cannot read as a number near 2^63.
  local readable(expr) = '(' + expr + ' < 1e18)';
  // Older exporters of Ascend number the chips of each node from 0, so `device` is the instance and the id.
  local chip(expr) = 'label_join(' + expr + ', "device", "/", "instance", "id")';
  // One table for each exporter: its vendor, the label that identifies a card, and what it says of our measures. `card`
  // is a series of every card with the labels of its number and its host. The first exporter that reports a card counts.
  local exporters = [
    {
      vendor: 'nvidia',
      id: 'UUID',
      'utilization:ratio': [
        raw(readable('DCGM_FI_PROF_GR_ENGINE_ACTIVE')),
        percent(readable('DCGM_FI_DEV_GPU_UTIL')),
      ],
      'memory_used:bytes': [mebi(readable('DCGM_FI_DEV_FB_USED'))],
      'memory_total:bytes': [
        mebi(readable('(DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE + DCGM_FI_DEV_FB_RESERVED)')),
        mebi(readable('(DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE)')),
      ],
      'power:watts': [raw(readable('DCGM_FI_DEV_POWER_USAGE'))],
      card: {
        expr: readable('label_replace(DCGM_FI_DEV_GPU_TEMP, "Hostname", "$1", "hostname", "(.+)")'),
        number: 'gpu',
        host: 'Hostname',
      },
      'fault:code': [raw(readable('DCGM_FI_DEV_XID_ERRORS'))],
      'throttled:bool': [
        raw(slowed('DCGM_FI_DEV_CLOCKS_EVENT_REASONS')),
        raw(slowed('DCGM_FI_DEV_CLOCK_THROTTLE_REASONS')),
      ],
      'clock:hertz': [times(readable('DCGM_FI_DEV_SM_CLOCK'), '1e6')],
      'ecc_uncorrected:increase1h': [raw(readable('increase(DCGM_FI_DEV_ECC_DBE_VOL_TOTAL[%(span1h)s])'))],
      'pcie:bytes_per_second': [raw(readable('(DCGM_FI_PROF_PCIE_TX_BYTES + DCGM_FI_PROF_PCIE_RX_BYTES)'))],
      'nvlink:bytes_per_second': [raw(readable('(DCGM_FI_PROF_NVLINK_TX_BYTES + DCGM_FI_PROF_NVLINK_RX_BYTES)'))],
      'temperature:celsius': [raw(readable('DCGM_FI_DEV_GPU_TEMP'))],
    },
    {
      vendor: 'nvidia',
      id: 'gpu_uuid',
      'utilization:ratio': [raw('nv_gpu_utilization')],
      'memory_used:bytes': [raw('nv_gpu_memory_used_bytes')],
      'memory_total:bytes': [raw('nv_gpu_memory_total_bytes')],
      'power:watts': [raw('nv_gpu_power_usage')],
      card: { expr: 'nv_gpu_utilization', number: 'gpu', host: 'node' },
    },
    {
      vendor: 'ascend',
      id: 'vdie_id',
      'utilization:ratio': [percent(chip('npu_chip_info_utilization'))],
      'memory_used:bytes': [
        mebi(chip('npu_chip_info_hbm_used_memory')),
        mebi(chip('npu_chip_info_used_memory')),
      ],
      'memory_total:bytes': [
        mebi(chip('npu_chip_info_hbm_total_memory')),
        mebi(chip('npu_chip_info_total_memory')),
      ],
      'power:watts': [raw(chip('npu_chip_info_power'))],
      card: { expr: chip('npu_chip_info_temperature'), number: 'id', host: 'node' },
      'fault:code': [raw(chip('npu_chip_info_error_code'))],
      'healthy:bool': [raw(chip('(npu_chip_info_health_status >= 0)'))],
      'clock:hertz': [times(chip('npu_chip_info_aicore_current_freq'), '1e6')],
      'temperature:celsius': [raw(chip('npu_chip_info_temperature'))],
    },
    {
      vendor: 'cambricon',
      id: 'uuid',
      'utilization:ratio': [percent('mlu_utilization')],
      'memory_used:bytes': [raw('mlu_memory_used')],
      'memory_total:bytes': [raw('mlu_memory_total')],
      'power:watts': [raw('mlu_power_usage')],
      card: { expr: 'mlu_temperature', number: 'mlu', host: 'node' },
      'fault:code': [raw('mlu_last_xid_error')],
      'healthy:bool': [raw('mlu_health')],
      'throttled:bool': [raw('mlu_thermal_slow_down')],
      'clock:hertz': [times('mlu_frequency', '1e6')],
      'ecc_uncorrected:increase1h': [raw('increase(mlu_ecc_uncorrected_error_total[%(span1h)s])')],
      // In 20 ms.
      'pcie:bytes_per_second': [times('(mlu_pcie_read_throughput + mlu_pcie_write_throughput)', '50')],
      'temperature:celsius': [raw('mlu_temperature')],
    },
  ];
  local first(rows) = std.join('\nor on (%(card)s)\n', [text.trimmed(row) for row in rows]);
  local of(exporter) = { vendor: exporter.vendor, id: exporter.id };
  local measure(name) =
    text.record('device:accelerator_' + name, first([
      device(of(exporter) + source)
      for exporter in exporters
      for source in std.get(exporter, name, [])
    ]));
  [
    measure('utilization:ratio'),
    measure('memory_used:bytes'),
    measure('memory_total:bytes'),
    measure('power:watts'),
    text.record('device:accelerator_name:info', first([called(of(one) + one.card) for one in exporters])),
    // The vendor's code of the last error: an XID, or Ascend's error code.
    measure('fault:code'),
    // 1 is healthy, 0 is not. There is no row where the vendor does not export it or cannot tell (-1).
    measure('healthy:bool'),
    measure('throttled:bool'),
    measure('clock:hertz'),
    measure('ecc_uncorrected:increase1h'),
    measure('pcie:bytes_per_second'),
    measure('nvlink:bytes_per_second'),
    measure('temperature:celsius'),
  ]
