import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { localFilePath, planLocalChains } from '#main/roles/local-chains.ts'
import { lockFolder } from '#main/roles/lock-folder.ts'

/** Apart from the data of `npm start`, which may run at the same time on another port. */
const DATA_FOLDER = '.sexton/dev'
/**
 * Threads of a watched process report every file they load as a message to their parent, which
 * takes it for one of theirs. The folder is watched instead.
 */
const NO_REPORTS = 'data:text/javascript,delete process.env.WATCH_REPORT_DEPENDENCIES'
const ROOT = join(import.meta.dirname, '..')

await develop()

/**
 * `npm run dev`: keeps the local chains in this process and runs the service from its sources in
 * another, which Node restarts whenever a file in `src/` changes.
 */
async function develop(): Promise<void> {
  process.chdir(ROOT)
  const asked = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => resolve())
  })
  const unlock = await lockFolder(join(DATA_FOLDER, 'chains'))
  const port = Number(process.env.PORT ?? 4020)
  const chains = await planLocalChains({ dataFolder: DATA_FOLDER, port }, () => undefined)
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
  const watch = ['--watch', '--watch-path=src', '--watch-preserve-output', '--import', NO_REPORTS]
  const place = ['--data', DATA_FOLDER, '--ecosystem', localFilePath(DATA_FOLDER)]
  const program = ['src/cli/sexton.mjs', 'start', '--port', String(port), ...place]
  return spawn(process.execPath, [...watch, ...program, ...process.argv.slice(2)], {
    stdio: 'inherit',
  })
}
