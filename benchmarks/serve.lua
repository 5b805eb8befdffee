-- wrk's part of benchmarks/serve.py: sends VERB to the paths of a file in turns, and reports as JSON.
-- Sessions are reset before they are full. With PAUSE, each connection waits so many milliseconds between requests.

local verbs = { read = '{"text":"Mary went to the garden."}', ask = '{"question":"Where is Mary?"}' }
local FULL = 400
local requests, reset, sent, paths = {}, {}, 0, 0
local threads = {}

function setup(thread)
  table.insert(threads, thread)
end

function init(args)
  failed = 0
  local verb, file, pause = args[1], args[2], tonumber(args[3])
  if pause > 0 then delay = function() return pause end end
  local headers = { ["content-type"] = "application/json" }
  for path in io.lines(file) do
    table.insert(requests, wrk.format("POST", path .. "/" .. verb, headers, verbs[verb]))
    table.insert(reset, wrk.format("POST", path .. "/reset", headers, ""))
  end
  paths = #requests
end

function request()
  sent = sent + 1
  local path, turn = sent % paths + 1, math.floor(sent / paths)
  if paths > 1 and turn % FULL == 0 then return reset[path] end
  return requests[path]
end

function response(status)
  if status ~= 200 then failed = failed + 1 end
end

function done(summary, latency)
  local failures = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  for _, thread in ipairs(threads) do failures = failures + thread:get("failed") end
  io.write(string.format('{"requests":%d,"seconds":%.4f,"p50":%d,"p99":%d,"failed":%d}\n', summary.requests,
    summary.duration / 1e6, latency:percentile(50), latency:percentile(99), failures))
end
