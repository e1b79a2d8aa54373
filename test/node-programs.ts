import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { sleep } from '#base/async.ts'
import { freePort } from '#base/free-port.ts'
import { openNode } from '#ops/setup/chain-view.ts'

/** Chain nodes besides anvil, as their own packages run them. */

const LISTED = join(import.meta.dirname, 'nodes')
/** Out of sight of whatever reads the tree. */
const FOLDER = join(import.meta.dirname, '../node_modules/.cache/sexton-nodes')

export type NodeProgram = 'hardhat' | 'ganache'

export interface RunningNode {
  readonly url: string
  stop(): Promise<void>
}

/** On 127.0.0.1, with unlocked, funded accounts. Every transaction makes a block. */
export async function startNode(program: NodeProgram): Promise<RunningNode> {
  await installNodes()
  const folder = await mkdtemp(join(tmpdir(), 'sexton-node-'))
  const port = await freePort()
  const parameters = {
    hardhat: ['node', '--hostname', '127.0.0.1', '--port', String(port)],
    ganache: [
      '--server.host',
      '127.0.0.1',
      '--server.port',
      String(port),
      '--chain.chainId',
      '1337',
    ],
  }
  const files = {
    hardhat: 'node_modules/hardhat/dist/src/cli.js',
    ganache: 'node_modules/ganache/dist/node/cli.js',
  }
  const child = spawn(process.execPath, [join(FOLDER, files[program]), ...parameters[program]], {
    cwd: FOLDER,
    env: { ...process.env, HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true', HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-2_000)
    })
  const ended = once(child, 'close')
  const url = `http://127.0.0.1:${port}`
  const node = openNode(url)
  while (
    !(await node.ask('eth_chainId').then(
      () => true,
      () => false,
    ))
  ) {
    if (child.exitCode !== null) throw new Error(`${program} ended: ${output}`)
    await sleep(100)
  }
  return {
    url,
    async stop() {
      child.kill()
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/**
 * Once; test files that run at the same time wait for it. Needs the packaged Node on the path: npm
 * leaves out what an older one cannot run.
 */
export async function installNodes(): Promise<void> {
  await mkdir(FOLDER, { recursive: true })
  const command =
    `cmp -s '${LISTED}/package-lock.json' installed && cp '${LISTED}/hardhat.config.js' . || { cp '${LISTED}'/* . && ` +
    'npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && cp package-lock.json installed; }'
  const child = spawn('flock', [FOLDER, '/bin/sh', '-c', command], {
    cwd: FOLDER,
    env: {
      ...process.env,
      PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`the chain nodes for tests could not be installed: ${complaint}`)
}
