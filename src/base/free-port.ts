import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ephemeral port range, from which the system may hand out a port before it is used. */
const FROM = 10_000
const TO = 32_768

/** Returns a free port of 127.0.0.1: the wanted one if free, else any. */
export async function freePort(wanted = 0): Promise<number> {
  for (let port = wanted; ; port = randomInt(FROM, TO)) {
    if (port !== 0 && (await isFree(port))) return port
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer().listen(port, '127.0.0.1')
  try {
    await once(probe, 'listening')
  } catch {
    return false
  }
  probe.close()
  await once(probe, 'close')
  return true
}
