/* Maps the special characters of Kiln's output to ASCII. The table has exactly the characters that
 * src/draw and src/cli print. */
#include "draw/ascii.h"

#include "base/ban.h"

static const struct {
    const char *utf8;
    char ascii;
} marks[] = {
    {"…", '~'}, {"│", '|'}, {"▏", '|'}, {"▎", '#'}, {"▍", '#'}, {"▌", '#'}, {"▋", '#'},
    {"▊", '#'}, {"▉", '#'}, {"█", '#'}, {"▓", '%'}, {"▒", '+'}, {"░", '.'}, {"▀", '"'},
    {"▄", '_'}, {"▲", '^'}, {"▼", 'v'}, {"→", '>'}, {"≠", '!'}, {"·", '-'}, {"–", '-'},
};

size_t ascii_marks(char *text, size_t n)
{
    size_t to = 0;
    for (size_t i = 0; i < n;) {
        size_t k = ARRAY_LEN(marks), len = 1;
        if ((unsigned char)text[i] >= 0x80)
            for (k = 0; k < ARRAY_LEN(marks); k++) {
                len = strlen(marks[k].utf8);
                if (len <= n - i && !memcmp(text + i, marks[k].utf8, len)) break;
            }
        bool mark = k < ARRAY_LEN(marks);
        text[to++] = mark ? marks[k].ascii : text[i];
        i += mark ? len : 1;
    }
    return to;
}
