/**
 * Ranks as threads of one JVM, without agents and launcher. The entry class is {@code LocalWorld}.
 *
 * <p>For programs and tests. May use the root package, {@code backend}, {@code control}, {@code group}, {@code join}
 * and {@code tcp}.
 */
@NullMarked
package io.jrun.comm.local;

import org.jspecify.annotations.NullMarked;
