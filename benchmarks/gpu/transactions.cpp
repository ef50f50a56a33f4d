// An Oclgrind plugin: the memory transactions of warps of 32 work-items.
//
//   OCLGRIND_PLUGINS=libtransactions.so TRANSACTIONS=FILE    one JSON object a launch
//
// The n-th execution of an access by each of the 32 work-items of a warp is one request.
// Global memory: a request takes a transaction for each sector of 32 bytes it touches;
// the least is what its different bytes would fill: one for a word that all read.
// Local memory: 32 banks of 4 bytes; a request takes a wavefront for each different word
// in the bank with most of them. Requests of 8 (16) bytes a work-item are processed for
// 16 (8) work-items at a time. Loads of neighbouring words in one basic block, aligned in
// all work-items, count as one load of 16 bytes, which compilers make of them (what they
// do make is seen in their code). Atomics on one word are serialised.
// The first TRANSACTIONS_GROUPS work-groups of a launch are looked at.
#include <oclgrind/Context.h>
#include <oclgrind/Kernel.h>
#include <oclgrind/KernelInvocation.h>
#include <oclgrind/Memory.h>
#include <oclgrind/Plugin.h>
#include <oclgrind/WorkGroup.h>
#include <oclgrind/WorkItem.h>

#include <llvm/IR/DebugLoc.h>
#include <llvm/IR/Instruction.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

using namespace oclgrind;

namespace {

constexpr size_t WARP = 32, SECTOR = 32, BANKS = 32, WORD = 4, VECTOR = 16;
constexpr unsigned GLOBAL = 1, CONSTANT = 2, LOCAL = 3;

using Instruction = const llvm::Instruction *;

struct Access {
  size_t address, size;
};
using Request = std::vector<Access>;
using Place = std::tuple<unsigned, std::string, std::string>; // line, space, kind

struct Counts {
  size_t requests = 0, bytes = 0, useful = 0, sectors = 0, wavefronts = 0, least = 0;
};

size_t wavefronts(const Request &part, bool atomic) {
  std::map<size_t, std::map<size_t, size_t>> banks; // bank -> word -> accesses
  for (const Access &each : part)
    for (size_t word = each.address / WORD;
         word <= (each.address + each.size - 1) / WORD; word++)
      banks[word % BANKS][word]++;
  size_t most = 0;
  for (const auto &bank : banks) {
    size_t serial = bank.second.size();
    if (atomic) {
      serial = 0;
      for (const auto &word : bank.second)
        serial += word.second;
    }
    most = std::max(most, serial);
  }
  return most;
}

void count_local(const Request &request, bool atomic, Counts &counts) {
  size_t words = std::max<size_t>(1, request[0].size / WORD);
  size_t lanes = std::max<size_t>(1, WARP / words);
  for (size_t first = 0; first < request.size(); first += lanes) {
    size_t end = std::min(request.size(), first + lanes);
    counts.wavefronts +=
        wavefronts({request.begin() + first, request.begin() + end}, atomic);
    counts.least++;
  }
}

// Whether `next` continues `first` in all work-items, `offset` bytes further on.
bool continues(const Request &first, const Request &next, size_t offset) {
  if (first.size() != next.size())
    return false;
  for (size_t i = 0; i < first.size(); i++)
    if (first[i].address + offset != next[i].address || first[i].size != next[i].size)
      return false;
  return true;
}

using Loads = std::vector<std::pair<Instruction, Request>>;

// Join loads of neighbouring words, in whole vectors.
Loads joined(Loads loads) {
  std::sort(loads.begin(), loads.end(), [](const auto &a, const auto &b) {
    return a.second[0].address < b.second[0].address;
  });
  Loads found;
  for (size_t first = 0; first < loads.size();) {
    Request request = loads[first].second;
    size_t size = request[0].size, count = size < VECTOR ? VECTOR / size : 1;
    bool whole = first + count <= loads.size();
    for (const Access &each : request)
      whole = whole && each.address % VECTOR == 0;
    for (size_t i = 1; whole && i < count; i++)
      whole = continues(request, loads[first + i].second, i * size);
    if (whole)
      for (Access &each : request)
        each.size *= count;
    found.push_back({loads[first].first, request});
    first += whole ? count : 1;
  }
  return found;
}

void count_global(const Request &request, Counts &counts) {
  std::set<size_t> sectors;
  std::set<std::pair<size_t, size_t>> different;
  for (const Access &each : request) {
    different.insert({each.address, each.size});
    for (size_t at = each.address / SECTOR;
         at <= (each.address + each.size - 1) / SECTOR; at++)
      sectors.insert(at);
  }
  size_t useful = 0;
  for (const auto &each : different)
    useful += each.second;
  counts.useful += useful;
  counts.sectors += sectors.size();
  counts.least += (useful + SECTOR - 1) / SECTOR;
}

class Transactions : public Plugin {
  std::map<std::tuple<Instruction, unsigned, std::string>,
           std::map<std::pair<size_t, size_t>, Request>>
      pending;
  std::map<std::pair<Instruction, size_t>, size_t> executions;
  std::map<size_t, Access> stored; // the last one, by lane
  std::map<Place, Counts> places;
  std::string path;
  size_t most = 4, groups = 0;

  void access(const Memory *memory, const WorkItem *item, size_t address, size_t size,
              const char *kind) {
    unsigned space = memory->getAddressSpace();
    if (groups >= most || (space != GLOBAL && space != CONSTANT && space != LOCAL))
      return;
    Instruction instruction = item->getCurrentInstruction();
    Size3 at = item->getLocalID();
    Size3 extent = item->getWorkGroup()->getGroupSize();
    size_t lane = at.x + extent.x * (at.y + extent.y * at.z);
    if (kind[0] == 's') { // of a vector there follow the stores of its components
      Access &whole = stored[lane];
      size_t offset = address - whole.address;
      if (size < whole.size && offset < whole.size)
        return;
      whole = {address, size};
    }
    size_t number = executions[{instruction, lane}]++;
    pending[{instruction, space, kind}][{lane / WARP, number}].push_back(
        {address, size});
  }

  void count() {
    std::map<std::tuple<const void *, size_t, size_t>, Loads> blocks;
    for (const auto &entry : pending) {
      Instruction instruction = std::get<0>(entry.first);
      unsigned space = std::get<1>(entry.first);
      const std::string &kind = std::get<2>(entry.first);
      for (const auto &request : entry.second)
        if (space == LOCAL && kind == "load" && instruction)
          blocks[{instruction->getParent(), request.first.first, request.first.second}]
              .push_back({instruction, request.second});
        else
          count(instruction, space, kind, request.second);
    }
    for (const auto &block : blocks)
      for (const auto &load : joined(block.second))
        count(load.first, LOCAL, "load", load.second);
    pending.clear();
    executions.clear();
    stored.clear();
  }

  void count(Instruction instruction, unsigned space, const std::string &kind,
             const Request &request) {
    unsigned line = 0;
    if (instruction && instruction->getDebugLoc())
      line = instruction->getDebugLoc().getLine();
    Counts &counts = places[{line, space == LOCAL ? "local" : "global", kind}];
    counts.requests++;
    for (const Access &each : request)
      counts.bytes += each.size;
    if (space == LOCAL)
      count_local(request, kind == "atomic", counts);
    else
      count_global(request, counts);
  }

public:
  explicit Transactions(const Context *context) : Plugin(context) {
    if (const char *text = getenv("TRANSACTIONS"))
      path = text;
    if (const char *text = getenv("TRANSACTIONS_GROUPS"))
      most = strtoul(text, nullptr, 10);
  }
  bool isThreadSafe() const override { return false; }
  void memoryLoad(const Memory *m, const WorkItem *w, size_t a, size_t s) override {
    access(m, w, a, s, "load");
  }
  void memoryStore(const Memory *m, const WorkItem *w, size_t a, size_t s,
                   const uint8_t *) override {
    access(m, w, a, s, "store");
  }
  void memoryAtomicStore(const Memory *m, const WorkItem *w, AtomicOp, size_t a,
                         size_t s) override {
    access(m, w, a, s, "atomic");
  }
  void kernelBegin(const KernelInvocation *) override {
    groups = 0;
    places.clear();
  }
  void workGroupComplete(const WorkGroup *) override {
    count();
    groups++;
  }
  void kernelEnd(const KernelInvocation *launch) override {
    count();
    FILE *file = path.empty() ? stdout : fopen(path.c_str(), "a");
    if (!file)
      return;
    fprintf(file, "{\"kernel\": \"%s\", \"accesses\": [",
            launch->getKernel()->getName().c_str());
    const char *comma = "";
    for (const auto &entry : places) {
      const Counts &c = entry.second;
      fprintf(file,
              "%s{\"line\": %u, \"space\": \"%s\", \"kind\": \"%s\", \"requests\": %zu, "
              "\"bytes\": %zu, \"useful\": %zu, \"sectors\": %zu, "
              "\"wavefronts\": %zu, \"least\": %zu}",
              comma, std::get<0>(entry.first), std::get<1>(entry.first).c_str(),
              std::get<2>(entry.first).c_str(), c.requests, c.bytes, c.useful,
              c.sectors, c.wavefronts, c.least);
      comma = ", ";
    }
    fprintf(file, "]}\n");
    if (file != stdout)
      fclose(file);
  }
};

Transactions *plugin;

} // namespace

extern "C" void initializePlugins(Context *context) {
  plugin = new Transactions(context);
  context->registerPlugin(plugin);
}

extern "C" void releasePlugins(Context *context) {
  context->unregisterPlugin(plugin);
  delete plugin;
}
