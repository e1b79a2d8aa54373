import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { localFilePath, planLocalChains } from '#main/local-chains.ts'
import { lockFolder } from '#main/lock-folder.ts'

/** Apart from the data of `npm start`, which may run at the same time on another port. */
const DATA_FOLDER = '.sexton/dev'
const ROOT = join(import.meta.dirname, '..')
/**
 * Builds the page before each start. And threads of a watched process report every file they load as a message to their parent, which
 * takes it for one of theirs. The folders are watched instead.
 */
const BEFORE_START = `data:text/javascript,delete process.env.WATCH_REPORT_DEPENDENCIES;import { refreshConsole } from '${pathToFileURL(join(ROOT, 'tools/build-console.ts'))}';await refreshConsole()`
const WATCHED = ['src', 'console/src', 'client/src']

await develop()

/**
 * `npm run dev`: keeps the local chains in this process and runs the service from its sources in
 * another, which Node restarts whenever a file of it or of the page changes.
 */
async function develop(): Promise<void> {
  process.chdir(ROOT)
  const asked = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => resolve())
  })
  const unlock = await lockFolder(join(DATA_FOLDER, 'chains'))
  const port = Number(process.env.PORT ?? 4020)
  const chains = await planLocalChains(
    { dataFolder: DATA_FOLDER, port, takesAnyPorts: false },
    () => undefined,
  )
  process.stderr.write('Starting the local chains; new ones take some seconds...\n')
  const devnet = await chains.start()
  try {
    const service = runWatched(port)
    await Promise.race([asked, once(service, 'exit')])
    if (service.exitCode === null && service.kill('SIGTERM')) await once(service, 'exit')
  } finally {
    await devnet.stop()
    unlock()
  }
}

function runWatched(port: number) {
  const paths = WATCHED.map((path) => `--watch-path=${path}`)
  const watch = ['--watch', ...paths, '--watch-preserve-output', '--import', BEFORE_START]
  const place = ['--data', DATA_FOLDER, '--ecosystem', localFilePath(DATA_FOLDER)]
  const program = ['src/ops/cli/sexton.mjs', 'start', '--port', String(port), ...place]
  return spawn(process.execPath, [...watch, ...program, ...process.argv.slice(2)], {
    stdio: 'inherit',
  })
}
