#include <sparsebit/fx/tracer.h>
#include <sparsebit/zoo/zoo.h>

#include <iostream>

int main() {
  const auto example = sparsebit::zoo::make("resnet20");
  const auto traced = sparsebit::fx::QTracer({}).trace(*example.model);
  std::cout << traced->type() << " has " << traced->graph().size() << " nodes\n";
}
