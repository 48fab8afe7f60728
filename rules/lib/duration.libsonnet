// Durations of Prometheus: converts '1h30m' to seconds, and seconds to '1h30m'.
local units = [['d', 86400000], ['h', 3600000], ['m', 60000], ['s', 1000], ['ms', 1]];
local milliseconds = { [unit[0]]: unit[1] for unit in units } + { w: 604800000 };
local is_digit(letter) = std.member('0123456789', letter);
{
  // The shortest notation, with days as the largest unit, as Python's format_duration writes it.
  text(seconds)::
    local total = std.round(seconds * 1000);
    local next(done, unit) = {
      local count = std.floor(done.rest / unit[1]),
      text: done.text + if count == 0 then '' else count + unit[0],
      rest: done.rest - count * unit[1],
    };
    if total == 0 then '0s' else std.foldl(next, units, { text: '', rest: total }).text,

  // The seconds of a duration; fails if it is not one.
  seconds(text)::
    local wrong = 'found %s; allowed is a duration like 250ms, 30s, 5m, 1h30m or 30d' % std.manifestJson(text);
    // The state of the parser: the sum so far, and the digits and the unit of the part it reads.
    local added(done) =
      if done.digits == '' || !std.objectHas(milliseconds, done.unit) then error wrong
      else done.sum + std.parseInt(done.digits) * milliseconds[done.unit];
    local read(done, letter) =
      if !is_digit(letter) then done { unit+: letter }
      else if done.unit == '' then done { digits+: letter }
      else { sum: added(done), digits: letter, unit: '' };
    if !std.isString(text) then error wrong
    else added(std.foldl(read, std.stringChars(text), { sum: 0, digits: '', unit: '' })) / 1000,
}
