/**
 * The table of the {@code Store}. The launcher's coordinator or a {@code LocalWorld} holds the table. Entry classes:
 * {@code StoreTable}, and {@code StoreClient} for a rank.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules. May use the root package and
 * {@code control}.
 */
@NullMarked
package io.jrun.comm.store;

import org.jspecify.annotations.NullMarked;
