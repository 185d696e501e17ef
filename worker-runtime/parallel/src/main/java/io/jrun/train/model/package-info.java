/**
 * A model as a training program sees it: layers in order, a loss, and a plan to share the layers. Entry classes:
 * {@code LayeredModel} for models of one's own, {@code ModelDefinition} for programs that build models.
 */
@NullMarked
package io.jrun.train.model;

import org.jspecify.annotations.NullMarked;
