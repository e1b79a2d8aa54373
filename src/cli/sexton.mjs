#!/usr/bin/env -S MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=262144 node
// The allocator's settings: docs/decisions/starting.md.
//
// Plain JavaScript: with every module of the last run cached, Node never loads what strips types. So nothing
// is imported here but Node's own.
import * as modules from 'node:module'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const NODE_MAJOR = 26

refuseOldNode()
keepCompiledModules()
const { main } = await import('./sexton.ts')
await main()

/** `npm` brings the right one along; who starts this file alone may have another. */
function refuseOldNode() {
  const [major] = process.versions.node.split('.')
  if (Number(major) >= NODE_MAJOR) return
  process.stderr.write(
    `sexton: needs Node ${NODE_MAJOR}, this is ${process.versions.node}; "npm start" and "npm run sexton" bring it along\n`,
  )
  process.exit(2)
}

/**
 * Keeps compiled modules, and TypeScript without its types, for the next start: beside the installed
 * packages, which only those can write whose code runs here anyway (a shared folder such as /tmp
 * would let a stranger leave code for us), else in the user's own cache. Where neither can be written
 * everything works as before. Node checks each entry against the source.
 */
function keepCompiledModules() {
  const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
  const folders = [join(root, 'node_modules', '.cache', 'sexton'), join(cache, 'sexton')]
  // Fails where a folder cannot be written; elsewhere it is on, or somebody has decided already.
  const found = folders.find((folder) => modules.enableCompileCache(folder).directory !== undefined)
  // Threads have a cache of their own and find it by this variable.
  if (found !== undefined) process.env.NODE_COMPILE_CACHE ??= found
}
