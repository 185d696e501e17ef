/** JSON as maps, lists, texts, numbers and truth values, one object a line. Entry class: {@code JsonLine}. */
@NullMarked
package io.jrun.launcher.json;

import org.jspecify.annotations.NullMarked;
