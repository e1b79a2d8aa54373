/** One URL per host, as libpq reads several (34.1.1.2). */
export function hostsOf(url: string): readonly string[] {
  const parts = /^(postgres(?:ql)?:\/\/(?:[^@/?]*@)?)([^/?]*)(.*)$/s.exec(url)
  if (parts === null) return [url]
  const [, start = '', hosts = '', end = ''] = parts
  return hosts.split(',').map((host) => `${start}${host}${end}`)
}
