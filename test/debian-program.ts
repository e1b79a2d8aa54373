import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'

/** Some 100 MB come over the network once; past this the mirror hangs. */
const installTimeoutMs = 600_000

/** A program that tests need and that Debian has. */
export interface DebianProgram {
  /** Names that it goes by, the best first; the first is also that of Debian's package. */
  readonly names: readonly [string, ...string[]]
  /** Paths beside those of PATH. */
  readonly places?: readonly string[]
  /** What is missing and how to mend it. */
  readonly missing: string
}

/** The program is missing and cannot be installed by this user. */
export class MissingProgram extends Error {
  override readonly name = 'MissingProgram'
}

/**
 * Path of a program. If there is none, root on a machine with apt-get gets Debian's package
 * installed, with a line of progress; anyone else gets an error that names the mend.
 */
export async function findDebianProgram(
  environment: NodeJS.ProcessEnv,
  program: DebianProgram,
): Promise<string> {
  const { names, places = [], missing } = program
  const found = await firstExecutable([...onPath(environment, names), ...places])
  if (found !== undefined) return found
  const aptGet = await firstExecutable(onPath(environment, ['apt-get']))
  if (aptGet === undefined || process.getuid?.() !== 0) throw new MissingProgram(missing)
  await install(environment, program)
  const installed = await firstExecutable(onPath(environment, names))
  if (installed === undefined) throw new Error(missing)
  return installed
}

/** Test files run at the same time: `flock` lets one install while the others wait for it. */
async function install(
  environment: NodeJS.ProcessEnv,
  { names: [name], missing }: DebianProgram,
): Promise<void> {
  process.stderr.write(`Installing ${name} for the tests (apt-get, once)...\n`)
  const command =
    `command -v ${name} >/dev/null || { apt-get update -qq && ` +
    `apt-get install -y -qq --no-install-recommends ${name}; }`
  const child = spawn('flock', [`/tmp/sexton-install-${name}.lock`, '/bin/sh', '-c', command], {
    env: { ...environment, DEBIAN_FRONTEND: 'noninteractive' },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: installTimeoutMs,
  })
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-2_000)
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${missing}. apt-get said: ${complaint}`)
}

function onPath(environment: NodeJS.ProcessEnv, files: readonly string[]): string[] {
  const standard = ['/usr/bin', '/usr/local/bin']
  const folders = new Set([...(environment.PATH ?? '').split(delimiter), ...standard])
  return files.flatMap((file) => [...folders].map((folder) => join(folder, file)))
}

async function firstExecutable(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) if (await isExecutable(path)) return path
  return undefined
}

/** Whether a file may be run by this process. */
export function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}
