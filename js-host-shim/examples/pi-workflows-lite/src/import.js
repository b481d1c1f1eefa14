// In JavaScript, since Pi's loader for TypeScript drops the query of an import, and with it the new version of a file.

/**
 * @param {string} url
 * @returns {Promise<{ default?: unknown }>}
 */
export const importModule = (url) => import(url);
