import { freePort } from '#base/free-port.ts'
import { startCommand } from '#test/run-command.ts'
import { type RoleProcess, type RoleStart, untilReady } from './role-process.ts'

/** A role of Sexton in this process, which nothing can kill. */
export type RoleHere = Pick<RoleProcess, 'url' | 'ready' | 'words' | 'stop'>

export async function startRoleHere({
  role,
  environment,
}: Pick<RoleStart, 'role' | 'environment'>): Promise<RoleHere> {
  const port = String(await freePort(0))
  const { words, ended, stop } = startCommand([role], { PORT: port, ...environment })
  const url = `http://127.0.0.1:${port}`
  let isOver = false
  ended.finally(() => {
    isOver = true
  })
  return {
    url,
    words,
    ready: () => untilReady(url, { role, isOver: () => isOver, words }),
    async stop() {
      const { code } = await stop()
      if (code !== 0) throw new Error(`sexton ${role} ended with ${code}:\n${words()}`)
    },
  }
}
