import { sleep } from '#base/async.ts'
import type { Channel } from '../engine.ts'
import { PostgresConnection, type PostgresConnectionOptions } from './postgres-connection.ts'

const AGAIN_MS = 1_000

/**
 * Calls back with the payload of each notification, and with `undefined` whenever some may have been missed.
 * Reconnects until it is stopped.
 */
export function listen(
  settings: PostgresConnectionOptions,
  channel: Channel,
  onNotification: (payload: string | undefined) => void,
): () => Promise<void> {
  const stop = new AbortController()
  let current: PostgresConnection | undefined
  const run = async () => {
    while (!stop.signal.aborted) {
      const connection = new PostgresConnection(settings)
      current = connection
      try {
        await connection.open()
        await connection.command(`listen ${channel}`)
        onNotification(undefined)
        await connection.notifications(onNotification)
      } catch {
        // Callers poll meanwhile.
      }
      await connection.close()
      await sleep(AGAIN_MS, stop.signal)
    }
  }
  const running = run()
  return async () => {
    stop.abort()
    await current?.close()
    await running
  }
}
