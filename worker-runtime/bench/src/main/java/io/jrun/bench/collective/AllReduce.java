package io.jrun.bench.collective;

/** Every rank gets the reduction, in place. */
final class AllReduce implements BenchedOperation {
    @Override
    public String name() {
        return "allreduce";
    }

    @Override
    public double busFactor(int ranks) {
        return 2.0 * (ranks - 1) / ranks;
    }

    @Override
    public boolean reduces() {
        return true;
    }

    @Override
    public void run(BenchCase cell) {
        cell.group().allReduce(cell.input(), cell.type(), cell.total(), cell.op());
    }

    @Override
    public Expected expected(BenchCase cell) {
        return new Expected(cell.total(), cell::reduced);
    }
}
