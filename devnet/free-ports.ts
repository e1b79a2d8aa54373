import { freePort } from '#base/free-port.ts'

/** For two chains. */
export async function freePorts(): Promise<{ ports: { base: number; ethereum: number } }> {
  return { ports: { base: await freePort(), ethereum: await freePort() } }
}
