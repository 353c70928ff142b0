#!/bin/sh
# The program for $BROWSER: opens the URL, its last argument, in browser.mjs and returns at once, as
# browsers do. Who signs in is in the environment (see browser.mjs); what came of it goes to
# $BROWSER_LOG, one line for each window.
for url in "$@"; do :; done
"${PATCHBAY_NODE:-node}" "$(dirname "$0")/browser.mjs" "$url" < /dev/null >> "${BROWSER_LOG:-/dev/null}" 2>&1 &
