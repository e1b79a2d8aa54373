#!/usr/bin/env -S MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=262144 node
// The allocator's settings: docs/decisions/starting.md.
//
// Plain JavaScript: with every module of the last run cached, Node never loads what strips types. So nothing
// is imported here but Node's own.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import * as modules from 'node:module'
import { dirname, join } from 'node:path'
import process from 'node:process'

const NODE_MAJOR = 26

if (Number(process.versions.node.split('.')[0]) < NODE_MAJOR) runOnPackagedNode()
else await run()

async function run() {
  keepCompiledModules()
  const { main } = await import('./sexton.ts')
  await main()
}

/** The package `node` brings the runtime by an install script, which npm may have been told to skip. */
function runOnPackagedNode() {
  const node = packagedNode()
  if (node === undefined) {
    process.stderr.write(
      `sexton: needs Node ${NODE_MAJOR}, this is ${process.versions.node}; install it, or allow the install script of the package "node": npx --allow-scripts=node sexton, or npm approve-scripts node && npm rebuild node\n`,
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

/**
 * Keeps compiled modules, and TypeScript without its types, for the next start: beside the installed
 * packages, which only those can write whose code runs here anyway (a shared folder such as /tmp
 * would let a stranger leave code for us), else in the user's own cache. Where neither can be written
 * everything works as before. Node checks each entry against the source.
 */
function keepCompiledModules() {
  const root = dirname(modules.findPackageJSON(import.meta.url))
  // Users that exist only while a service runs may have no home.
  const { HOME = '/', XDG_CACHE_HOME } = process.env
  const cache = XDG_CACHE_HOME || join(HOME, '.cache')
  const folders = [join(root, 'node_modules', '.cache', 'sexton'), join(cache, 'sexton')]
  // Fails where a folder cannot be written; elsewhere it is on, or somebody has decided already.
  const found = folders.find((folder) => modules.enableCompileCache(folder).directory !== undefined)
  // Threads have a cache of their own and find it by this variable.
  if (found !== undefined) process.env.NODE_COMPILE_CACHE ??= found
}
