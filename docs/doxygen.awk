# Makes Doxygen see the plain comments of our headers. The comment that opens a file describes the
# file; one before a declaration describes that; one behind code describes the code before it. Lines
# that only divide a file (they end in dashes) describe nothing. Signs that Doxygen would take for
# commands are kept from it.
function text(t) {
  gsub(/[\\@<>#%]/, "\\\\&", t)
  return t
}
FNR == 1 { opening = /^\/\// }
opening && FNR == 1 { print "/** \\file"; }
opening && /^\/\// { sub(/^\/\/ ?/, ""); print text($0); next }
opening { print "*/"; opening = 0 }
/^ *\/\/ .*---$/ { print ""; next }
/^ *\/\/ ?/ && !/^ *\/\/\// { match($0, /\/\/ ?/); print substr($0, 1, RSTART - 1) "/// " text(substr($0, RSTART + RLENGTH)); next }
/^}.*\/\/ namespace/ { print; next }
/[;,{}] +\/\/ / { match($0, / +\/\/ /); print substr($0, 1, RSTART) "///< " text(substr($0, RSTART + RLENGTH)); next }
{ print }
