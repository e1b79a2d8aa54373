import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { freePort } from '#base/free-port.ts'
import { findDeployPrograms } from '#test/deploy/programs.ts'
import { nginxMain } from '#test/deploy/proxy-configurations.ts'
import { eventually } from '#test/world.ts'

/** nginx as `deploy/nginx.conf` has it, without TLS, in front of replicas. */
export interface NginxFront {
  readonly url: string
  readonly pid: number
  /** Of each call by its `X-Call` header, how many replicas it reached; those that reached one are left out. */
  reached(): Promise<ReadonlyMap<number, number>>
  stop(): Promise<void>
}

export async function startNginxFront(
  folder: string,
  replicas: readonly number[],
): Promise<NginxFront> {
  const port = await freePort(0)
  const log = join(folder, 'nginx.log')
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, await configuration({ folder, log, port, replicas }))
  const { nginx } = await findDeployPrograms()
  const child = spawn(nginx, ['-p', folder, '-c', file], { stdio: ['ignore', 'ignore', 'pipe'] })
  // Killed at once, its worker would live on.
  const killAtExit = () => void child.kill('SIGTERM')
  process.once('exit', killAtExit)
  const url = `http://127.0.0.1:${port}`
  await answers(url, child)
  return {
    url,
    pid: child.pid ?? 0,
    reached: () => readLog(log),
    async stop() {
      process.off('exit', killAtExit)
      const exit = once(child, 'exit')
      child.kill('SIGTERM')
      await exit
    },
  }
}

interface Place {
  readonly folder: string
  readonly log: string
  readonly port: number
  readonly replicas: readonly number[]
}

async function configuration({ folder, log, port, replicas }: Place): Promise<string> {
  const site = await readFile(join(import.meta.dirname, '../../../deploy/nginx.conf'), 'utf8')
  const servers = replicas.map((each) => `    server 127.0.0.1:${each} max_fails=0;`)
  const changes: readonly (readonly [RegExp, string])[] = [
    [/( *server 127\.0\.0\.1:\d+ max_fails=0;\n)+/, `${servers.join('\n')}\n`],
    [/server \{\n {4}listen 80;[^}]*\}\n/, ''],
    [/listen 443 ssl http2;\n.*\n/, `listen 127.0.0.1:${port};\n`],
    [/ *ssl_certificate\w* .*;\n/g, ''],
    // The load comes from one machine and names its callers itself.
    [/X-Forwarded-For \$remote_addr;/, 'X-Forwarded-For $http_x_forwarded_for;'],
    [/proxy_next_upstream_tries 2;/, `proxy_next_upstream_tries ${replicas.length};`],
  ]
  const changed = changes.reduce((text, [pattern, value]) => {
    if (text.search(pattern) < 0) throw new Error(`deploy/nginx.conf has no ${pattern}`)
    return text.replace(pattern, value)
  }, site)
  return nginxMain(
    folder,
    `log_format calls '$http_x_call $upstream_connect_time';
access_log ${log} calls buffer=64k flush=1s;
keepalive_requests 1000000;
${changed}`,
  )
}

function answers(url: string, child: ChildProcess): Promise<true> {
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-8_000)
  })
  const asking = eventually(
    () =>
      fetch(url).then(
        () => true as const,
        () => undefined,
      ),
    20_000,
  )
  return asking.catch((cause: unknown) => {
    throw new Error(`nginx does not answer: ${said}`, { cause })
  })
}

/** A replica that refused the connection has no time of connecting. */
async function readLog(log: string): Promise<ReadonlyMap<number, number>> {
  const found = new Map<number, number>()
  for await (const line of createInterface({ input: createReadStream(log) })) {
    const [call = '', ...times] = line.split(/[\s,:]+/)
    const reached = times.filter((each) => each !== '-').length
    if (reached !== 1 && call !== '-') found.set(Number(call), reached)
  }
  return found
}
