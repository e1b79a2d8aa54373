import { once } from 'node:events'
import { createServer } from 'node:net'

/** For two chains. */
export async function freePorts(): Promise<{ ports: { base: number; ethereum: number } }> {
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
  const [base = 0, ethereum = 0] = ports
  return { ports: { base, ethereum } }
}
