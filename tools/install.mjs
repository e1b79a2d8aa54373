// Runs on the Node that the machine happens to have (20 or newer) with nothing installed, so it is
// plain JavaScript with no import but Node's own.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A cold install takes half a minute on a fast network; past this the registry hangs. */
const installTimeoutMs = 20 * 60_000

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const lockPath = join(root, 'package-lock.json')
const manifestPath = join(root, 'package.json')
const nodePath = join(root, 'node_modules', '.bin', 'node')

main()

function main() {
  const reason = reasonToInstall()
  if (reason === undefined) return
  install(reason)
  checkNode()
}

/**
 * Why the installed tree differs from package-lock.json, or undefined if it does not. Optional
 * packages of other platforms may be absent.
 */
function reasonToInstall() {
  const installed = readJson(join(root, 'node_modules', '.package-lock.json'))
  if (installed === undefined) return 'nothing is installed yet'
  for (const [path, wanted] of Object.entries(readJson(lockPath)?.packages ?? {})) {
    if (path === '') continue
    const present = installed.packages?.[path]
    if (present === undefined && (wanted.optional || wanted.devOptional)) continue
    if (present?.version !== wanted.version || present?.integrity !== wanted.integrity) {
      return `${path.replace('node_modules/', '')} is not the locked one`
    }
  }
  return existsSync(nodePath) ? undefined : 'the pinned Node is missing'
}

function install(reason) {
  process.stderr.write(`Installing the dependencies with npm (${reason}); about half a minute...\n`)
  const started = Date.now()
  const before = [manifestPath, lockPath].map((path) => [path, readFileSync(path)])
  const { command, leading } = npm()
  // Not `npm ci`: it refuses a mirror that lacks the optional packages of other platforms.
  // Errors only: the machine's own Node may be older than what some packages ask for, and it is
  // the pinned Node that runs them.
  const flags = ['--no-save', '--no-audit', '--no-fund', '--no-progress', '--loglevel=error']
  const result = spawnSync(command, [...leading, 'install', '--include=dev', ...flags], {
    cwd: root,
    encoding: 'utf8',
    timeout: installTimeoutMs,
  })
  for (const [path, content] of before) {
    if (!readFileSync(path).equals(content)) writeFileSync(path, content)
  }
  if (result.status !== 0) {
    const cause = result.error?.message ?? `${result.stdout ?? ''}${result.stderr ?? ''}`
    fail(`npm install failed: ${cause.trim()}`, 'see that the npm registry answers, then run again')
  }
  process.stderr.write(`Installed in ${Math.round((Date.now() - started) / 1000)} s.\n`)
}

/** The npm that runs this script, else the one on the path. */
function npm() {
  const script = process.env.npm_execpath
  if (script !== undefined && basename(script).startsWith('npm-cli')) {
    return { command: process.execPath, leading: [script] }
  }
  return { command: 'npm', leading: [] }
}

/** The package `node` brings the runtime by an install script, which npm may have been told to skip. */
function checkNode() {
  const wanted = readJson(lockPath)?.packages?.['node_modules/node']?.version
  const { stdout } = spawnSync(nodePath, ['--version'], { encoding: 'utf8' })
  if (stdout?.trim() === `v${wanted}`) return
  fail(
    `node_modules/.bin/node is ${stdout?.trim() || 'missing'}, not v${wanted}`,
    'run `npm rebuild node --ignore-scripts=false`; if your platform has no such Node package, ' +
      `install Node ${wanted} yourself and run \`node tools/check.ts\` or \`node src/ops/cli/sexton.mjs start\``,
  )
}

function readJson(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined
}

function fail(what, mend) {
  process.stderr.write(`${what}\nWhat to do: ${mend}\n`)
  process.exit(1)
}
