/**
 * The table of the {@code Store}. The launcher's coordinator or a {@code LocalWorld} holds the table. Entry classes:
 * {@code StoreTable}, and {@code StoreClient} for a rank.
 */
@NullMarked
package io.jrun.comm.store;

import org.jspecify.annotations.NullMarked;
