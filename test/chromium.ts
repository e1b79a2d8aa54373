import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

/** A browser starts in a second or two; a loaded machine gets this long. */
const launchTimeoutMs = 60_000
/** Some 100 MB come over the network once; past this the mirror hangs. */
const installTimeoutMs = 600_000

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome']
const fixedPlaces = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/snap/bin/chromium',
]

/**
 * Refuses every host but this machine, by name and by address, and keeps the browser's own
 * services (updates, sync, QUIC) from trying.
 */
const offlineFlags = [
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE localhost , EXCLUDE 127.0.0.1',
  '--disable-quic',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--disable-gpu',
]

/**
 * Starts a real headless Chromium that reaches 127.0.0.1 and localhost only. The caller closes it.
 * Uses CHROMIUM_PATH, else a browser on this machine, else installs Debian's (see `findChromium`).
 */
export async function launchChromium(
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Browser> {
  return chromium.launch({
    executablePath: await findChromium(environment),
    headless: true,
    chromiumSandbox: false,
    args: offlineFlags,
    timeout: launchTimeoutMs,
  })
}

/**
 * Path of a Chromium or Chrome. If there is none, root on a machine with apt-get gets Debian's
 * package installed, with a line of progress; anyone else gets an error that names the mend.
 */
export async function findChromium(environment: NodeJS.ProcessEnv): Promise<string> {
  const chosen = environment.CHROMIUM_PATH
  if (chosen !== undefined && chosen !== '') {
    if (await isExecutable(chosen)) return chosen
    throw new Error(`CHROMIUM_PATH is ${chosen}, which is not an executable file`)
  }
  const found = await firstExecutable([...onPath(environment, names), ...fixedPlaces])
  if (found !== undefined) return found
  const aptGet = await firstExecutable(onPath(environment, ['apt-get']))
  if (aptGet === undefined || process.getuid?.() !== 0) throw new Error(noBrowser)
  await installChromium(environment)
  const installed = await firstExecutable(onPath(environment, names))
  if (installed === undefined) throw new Error(noBrowser)
  return installed
}

const noBrowser =
  'The browser tests found no Chromium: install one (on Debian: apt-get install chromium) ' +
  'or set CHROMIUM_PATH to its executable'

/** Test files run at the same time: `flock` lets one install while the others wait for it. */
async function installChromium(environment: NodeJS.ProcessEnv): Promise<void> {
  process.stderr.write('Installing Chromium for the browser tests (apt-get, once, a minute)...\n')
  const install =
    'command -v chromium >/dev/null || { apt-get update -qq && ' +
    'apt-get install -y -qq --no-install-recommends chromium; }'
  const child = spawn('flock', ['/tmp/sexton-install-chromium.lock', '/bin/sh', '-c', install], {
    env: { ...environment, DEBIAN_FRONTEND: 'noninteractive' },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: installTimeoutMs,
  })
  let complaint = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-2_000)
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${noBrowser}. apt-get said: ${complaint}`)
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

function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}
