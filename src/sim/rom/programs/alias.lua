local alias, program = ...
if alias and program then
  shell.setAlias(alias, program)
elseif alias then
  shell.clearAlias(alias)
else
  local lines = {}
  for name, target in pairs(shell.aliases()) do lines[#lines + 1] = name .. ":" .. target end
  table.sort(lines)
  textutils.pagedTabulate(lines)
end
