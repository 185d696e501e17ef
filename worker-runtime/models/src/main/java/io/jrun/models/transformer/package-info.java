/** Parts that the models share: projections with or without an adapter, rotary position embeddings. */
@NullMarked
package io.jrun.models.transformer;

import org.jspecify.annotations.NullMarked;
