/** One URL per host of a `postgres://` URL with several, as libpq reads it (34.1.1.2, "Connection URIs"). */
export function hostsOf(url: string): readonly string[] {
  const parts = /^(postgres(?:ql)?:\/\/(?:[^@/?]*@)?)([^/?]*)(.*)$/s.exec(url)
  if (parts === null) return [url]
  const [, start = '', hosts = '', end = ''] = parts
  return hosts.split(',').map((host) => `${start}${host}${end}`)
}
