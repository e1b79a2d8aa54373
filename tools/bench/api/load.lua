-- Requests of the benchmark: with a file of secrets each request carries the next of them.
local requests = {}
local sent = 0

function init(args)
  if args[1] then
    for secret in io.lines(args[1]) do
      requests[#requests + 1] = wrk.format('GET', nil, { Host = wrk.headers['Host'], Authorization = 'Bearer ' .. secret })
    end
  else
    requests[1] = wrk.format('GET')
  end
end

function request()
  sent = sent + 1
  return requests[sent % #requests + 1]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\nresult {"requests":%d,"seconds":%.6f,"p50Ms":%.4f,"p99Ms":%.4f,"refused":%d,"failed":%d,"cpuSeconds":%.4f}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.status, errors.connect + errors.read + errors.write + errors.timeout, os.clock()
  ))
end
