import assert from 'node:assert/strict'
import { createServer, connect as dial, type Socket } from 'node:net'

export type Fault = 'open' | 'silent' | 'refused' | 'cut'

/** A TCP proxy that leads to one server, and can be cut, refuse connections, or carry nothing. */
export async function openWay(url: string) {
  const pairs = new Set<readonly [Socket, Socket]>()
  const target = new URL(url)
  let fault: Fault = 'open'
  const cut = () => {
    for (const pair of pairs) for (const socket of pair) socket.destroy()
    pairs.clear()
  }
  const entry = createServer((near) => {
    if (fault === 'refused') return void near.destroy()
    const far = dial(Number(target.port), target.hostname)
    const pair = [near, far] as const
    pairs.add(pair)
    const carry = (from: Socket, to: Socket) => {
      from.on('data', (bytes) => fault !== 'silent' && !to.destroyed && to.write(bytes))
      from.on('error', () => undefined)
      from.on('close', () => {
        pairs.delete(pair)
        if (fault !== 'silent') to.destroy()
      })
    }
    carry(near, far)
    carry(far, near)
  })
  await new Promise<void>((resolve) => entry.listen(0, '127.0.0.1', resolve))
  const address = entry.address()
  assert.ok(typeof address === 'object' && address !== null)
  const through = new URL(url)
  through.port = String(address.port)
  return {
    url: through.href,
    become(next: Fault) {
      if (next !== 'silent') cut()
      fault = next
    },
    close: () => new Promise<void>((resolve) => entry.close(() => resolve())),
  }
}
