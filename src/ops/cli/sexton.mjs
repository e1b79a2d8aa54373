#!/usr/bin/env node
// Plain JavaScript that runs on older versions of Node, to find the one that Sexton needs.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import * as modules from 'node:module'
import { dirname, join } from 'node:path'
import process from 'node:process'

const NODE_MAJOR = 26

if (Number(process.versions.node.split('.')[0]) < NODE_MAJOR) runOnPackagedNode()
else await run()

async function run() {
  const { main } = await import('./sexton.ts')
  await main()
}

/** The package `node` brings the runtime by an install script, which npm may have been told to skip. */
function runOnPackagedNode() {
  const node = packagedNode()
  if (node === undefined) {
    process.stderr.write(
      `sexton: needs Node ${NODE_MAJOR} or newer, this is ${process.versions.node}; install it, or here alone: npm install node@${NODE_MAJOR} --ignore-scripts=false\n`,
    )
    process.exit(2)
  }
  const child = spawn(node, process.argv.slice(1), { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.once('exit', (code) => process.exit(code ?? 1))
}

function packagedNode() {
  try {
    const manifest = modules.createRequire(import.meta.url).resolve('node/package.json')
    const path = join(dirname(manifest), 'bin', 'node')
    return existsSync(path) ? path : undefined
  } catch {
    return undefined
  }
}
