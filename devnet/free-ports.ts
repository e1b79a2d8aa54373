import { once } from 'node:events'
import { createServer } from 'node:net'

export async function freePorts(): Promise<{ basePort: number; ethereumPort: number }> {
  const probes = [createServer(), createServer()]
  const ports: number[] = []
  for (const probe of probes) {
    probe.listen(0, '127.0.0.1')
    await once(probe, 'listening')
    const address = probe.address()
    if (typeof address === 'object' && address !== null) ports.push(address.port)
  }
  for (const probe of probes) {
    probe.close()
    await once(probe, 'close')
  }
  const [basePort = 0, ethereumPort = 0] = ports
  return { basePort, ethereumPort }
}
