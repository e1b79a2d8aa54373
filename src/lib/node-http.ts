import process from 'node:process'

/**
 * Importing `node:http` reads all its exports; `WebSocket` among them loads all of fetch in each
 * thread.
 */
export const { Agent, createServer, request, STATUS_CODES } = process.getBuiltinModule('node:http')
