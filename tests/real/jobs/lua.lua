-- Tables, strings, closures, coroutines.
local s = 0
for i = 1, 12000000 do s = (s * 31 + i) % 1000003 end
print(s)
local t = {}
for i = 1, 200000 do t[i] = tostring(i * 7919 % 200003) end
table.sort(t)
print(t[1], t[100000], #table.concat(t))
local c = coroutine.wrap(function() for i = 1, 300000 do coroutine.yield(i) end end)
local n = 0
for _ = 1, 300000 do n = n + c() end
print(n)
local p = io.popen('echo from a process')
print(p:read('a'))
p:close()
os.exit(3)
