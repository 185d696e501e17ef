/**
 * Ranks as threads of one JVM, without agents and launcher. The entry class is {@code LocalWorld}.
 */
@NullMarked
package io.jrun.comm.local;

import org.jspecify.annotations.NullMarked;
