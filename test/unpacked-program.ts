import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { isExecutable, MissingProgram } from './debian-program.ts'

const run = promisify(execFile)

/** Some 20 MB come over the network once; past this the mirror hangs. */
const DOWNLOAD_TIMEOUT_MS = 300_000

const UNPACKED = join(import.meta.dirname, '../node_modules/.cache/debian')

/** A program of a Debian package whose installation would start a server. */
export interface UnpackedProgram {
  readonly package: string
  /** Inside the package. */
  readonly path: string
}

/**
 * Path of a program: that of PATH, else Debian's, downloaded and unpacked beside the installed
 * packages, which needs no root and starts nothing.
 */
export async function findUnpackedProgram({ package: name, path }: UnpackedProgram) {
  const file = path.split('/').at(-1) ?? ''
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']
  const unpacked = join(UNPACKED, name, path)
  for (const place of [...folders.map((folder) => join(folder, file)), unpacked])
    if (await isExecutable(place)) return place
  await unpackOnce(name)
  if (!(await isExecutable(unpacked)))
    throw new Error(`Debian's package ${name} has no program "${path}"`)
  return unpacked
}

/** Folder of a package's files. */
async function unpackOnce(name: string): Promise<string> {
  const folder = join(UNPACKED, name)
  if (existsSync(folder)) return folder
  process.stderr.write(`Unpacking ${name} for the tests (apt-get download, once)...\n`)
  await unpack(name)
  return folder
}

/** In one step, since test files run at the same time. */
async function unpack(name: string): Promise<void> {
  await mkdir(UNPACKED, { recursive: true })
  const folder = await mkdtemp(join(UNPACKED, `${name}-`))
  try {
    await download(name, folder)
    const [archive = ''] = await readdir(folder)
    const content = join(folder, 'content')
    await run('dpkg-deb', ['--extract', join(folder, archive), content])
    await rename(content, join(UNPACKED, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY') throw error
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function download(name: string, folder: string): Promise<void> {
  const options = { cwd: folder, timeout: DOWNLOAD_TIMEOUT_MS }
  const attempt = () => run('apt-get', ['download', '-qq', name], options)
  try {
    await attempt().catch(async () => {
      // Lists may be missing or old; only root can fetch them.
      await run('apt-get', ['update', '-qq'], options)
      await attempt()
    })
  } catch (cause) {
    throw new MissingProgram(`The tests of deploy/ need ${name} (apt-get install ${name})`, {
      cause,
    })
  }
}
