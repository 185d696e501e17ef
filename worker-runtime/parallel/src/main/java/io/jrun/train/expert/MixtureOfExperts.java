package io.jrun.train.expert;

import io.jrun.comm.Device;
import io.jrun.train.layer.CompositeModule;
import io.jrun.train.mesh.MeshAxis;
import io.jrun.train.tensor.TensorMemory;
import java.util.Collections;
import java.util.stream.LongStream;
import org.bytedeco.pytorch.GradMode;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * A layer of experts in place of a feed-forward layer. Each token goes to a few experts, and its output is the weighted
 * sum of their outputs. An expert that is full drops the choice: this choice adds nothing to the output.
 *
 * <p>Capacity and auxiliary losses are of the tokens of one forward pass on one rank (a group of GShard), so the layer
 * computes the same on any number of expert parallel ranks. The auxiliary losses are in the gradients, and not in the
 * loss that the model returns.
 */
public final class MixtureOfExperts extends CompositeModule {
    private final ExpertOptions options;
    private final Router router;
    private final ExpertNetwork network;
    private @Nullable TokenDispatcher dispatcher;
    private double lossScale = 1;
    private RoutingReport report;

    /** A layer on the CPU whose parameters are zero. */
    public MixtureOfExperts(ExpertNetwork.Kind kind, long width, long inner, ExpertOptions options) {
        this(kind, width, inner, options, Device.CPU);
    }

    /** A layer on a device whose parameters are zero. */
    public MixtureOfExperts(ExpertNetwork.Kind kind, long width, long inner, ExpertOptions options, Device device) {
        this.options = options;
        router = add("router", new Router(width, options, device));
        network = add("experts", new ExpertNetwork(kind, options.experts(), width, inner, device));
        report = new RoutingReport(0, Collections.nCopies(options.experts(), 0L));
    }

    /** The layer's output, of the shape of the input [..., D]. Collective if ranks share the experts. */
    public Tensor forward(Tensor x) {
        Tensor x_TD = x.reshape(-1, x.size(-1));
        Routing routing = router.route(x_TD);
        long[] counts = routing.choices().counts();
        count(routing.choices());
        Tensor rows_AD = x_TD.index_select(0, routing.tokens_A());
        TokenDispatcher exchange = dispatcher;
        Tensor results_AD =
                exchange == null ? network.forward(rows_AD, counts) : exchange.apply(rows_AD, counts, network);
        Tensor weights_A = routing.weights_A();
        Tensor weighted_AD = results_AD.to(weights_A.scalar_type()).mul(weights_A.unsqueeze(1));
        Tensor sum_TD = torch.zeros(TensorMemory.sizes(x_TD), weights_A.options())
                .index_add(0, routing.tokens_A(), weighted_AD);
        return AttachedLoss.attach(
                sum_TD.view(TensorMemory.sizes(x)), routing.loss().mul(new Scalar(lossScale)));
    }

    /** A recomputed layer runs twice, the first time without gradients. */
    private void count(AcceptedChoices choices) {
        if (GradMode.is_enabled()) {
            long accepted = LongStream.of(choices.counts()).sum();
            RoutingReport pass = new RoutingReport(
                    LongStream.of(choices.load()).sum() - accepted,
                    LongStream.of(choices.load()).boxed().toList());
            report = report.plus(pass);
        }
    }

    /** The settings. */
    public ExpertOptions options() {
        return options;
    }

    /** The choices of this rank's tokens since construction. */
    public RoutingReport report() {
        return report;
    }

    /**
     * Scales the gradients of the auxiliary losses as the program scales its loss: 1/n if the program divides the loss
     * by n micro-batches, and s/n if a {@code LossScaler} with the present scale s multiplies the loss.
     */
    public void setLossScale(double newScale) {
        lossScale = newScale;
    }

    /** Lets the ranks of an axis share the experts; each rank then has its part of the parameters. */
    void share(MeshAxis axis) {
        dispatcher = axis.size() == 1 ? null : new TokenDispatcher(axis);
    }
}
