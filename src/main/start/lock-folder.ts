import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, realpathSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigError } from '#config.ts'

/**
 * Allows one `start` per folder of embedded stores or local chains. The system releases a socket however the process dies. Throws
 * ConfigError if taken.
 */
export async function lockFolder(folder: string): Promise<() => void> {
  mkdirSync(folder, { recursive: true })
  const name = createHash('sha256').update(realpathSync(folder)).digest('hex').slice(0, 16)
  // Socket paths are limited to about 100 bytes.
  const path = join(tmpdir(), `sexton-${name}.sock`)
  if (await answers(path))
    throw new ConfigError(
      `SEXTON_DATA: another "sexton start" uses the folder ${folder}; stop it, or choose another folder`,
    )
  rmSync(path, { force: true })
  const server = createServer()
  server.listen(path)
  await once(server, 'listening')
  server.unref()
  return () => void server.close()
}

async function answers(path: string): Promise<boolean> {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
