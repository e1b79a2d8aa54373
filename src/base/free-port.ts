import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ports that systems give out by themselves: those may be taken again before they are used. */
const FROM = 10_000
const TO = 32_768

/** A port of 127.0.0.1 that nobody listens on: the wanted one if it is free, else any. */
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
