#pragma once

#include <cstdint>
#include <iosfwd>

namespace sparsebit {

/// Whether `stream` is std::cout or std::cerr and leads to a terminal.
bool is_terminal(const std::ostream& stream);

/// Whether that terminal can move its cursor and clear lines: TERM is set, and is not "dumb".
bool moves_cursor(const std::ostream& stream);

/// Whether words are coloured. NO_COLOR switches it off and CLICOLOR_FORCE on, wherever `stream`
/// leads; without them, only terminals that can do more than TERM=dumb have colours.
bool wants_colour(const std::ostream& stream);

/// How wide the terminal is right now, in characters; 80 when `stream` is no terminal, or its
/// terminal does not know.
int64_t terminal_columns(const std::ostream& stream);

/// Whether the terminal breaks lines that are on the screen again when it becomes narrower. All but
/// xterm and the Linux console do.
bool reflows_lines();

}  // namespace sparsebit
