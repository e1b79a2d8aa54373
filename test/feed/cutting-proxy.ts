import { once } from 'node:events'
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net'

export interface CuttingProxy {
  readonly origin: string
  /** Connections cut so far. */
  readonly cuts: number
  stop(): Promise<void>
}

/**
 * A TCP proxy that cuts its first connections after so many bytes of answers each, wherever that is
 * within an event. Streams ask clients to wait before they reconnect; here they do not.
 */
export async function startCuttingProxy(
  target: string,
  { cutsMax, bytes }: { readonly cutsMax: number; readonly bytes: number },
): Promise<CuttingProxy> {
  const state = { cuts: 0 }
  const open = new Set<Socket>()
  const server = createServer((near) => {
    const far = dial(Number(new URL(target).port), '127.0.0.1')
    let left = bytes + ((state.cuts * 37) % 150)
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one)
      one.on('error', () => undefined)
      one.on('close', () => {
        open.delete(one)
        other.destroy()
      })
    }
    near.on('data', (chunk) => far.write(chunk))
    far.on('data', (chunk: Buffer) => {
      if (near.destroyed || left <= 0) return
      const isCut = state.cuts < cutsMax && chunk.length >= left
      const part = withoutDelay(isCut ? chunk.subarray(0, left) : chunk)
      left = isCut ? 0 : Math.max(1, left - chunk.length)
      if (!isCut) return void near.write(part)
      state.cuts += 1
      // By turns as a server that goes away, and as a network that does.
      if (state.cuts % 2 === 0) near.end(part, () => near.destroy())
      else near.write(part, () => near.resetAndDestroy())
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    get cuts() {
      return state.cuts
    },
    async stop() {
      server.close()
      for (const each of open) each.destroy()
      await once(server, 'close')
    },
  }
}

/** As many bytes, so that chunks keep their length. */
function withoutDelay(bytes: Buffer): Buffer {
  const text = bytes.toString('latin1')
  const short = text.replace(
    /^retry: (\d+)$/m,
    (_, delay) => `retry: ${'1'.padStart(delay.length, '0')}`,
  )
  return Buffer.from(short, 'latin1')
}
